/**
 * The completion scripts. Each passes the typed words to `tidemark complete --` as they are: a word is never evaluated,
 * because it may contain a command substitution that the user has not run yet. Suggestions are quoted, because names
 * are the source's.
 *
 * Suggestions are lines of a word, a tab and a description; a last line with a colon is the library's.
 */

/** Needs no package. Bash itself splits words at the characters of COMP_WORDBREAKS, such as `=` and `:`. */
const bash = `# bash completion for tidemark: source <(tidemark complete bash)
_tidemark() {
  local cur=\${COMP_WORDS[COMP_CWORD]} word='' last='' line value i n=0
  local words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    last=$word word=\${COMP_WORDS[i]}
    if ((n > 0)) && [[ $word == [=:]* || ( -n $word && $last == *[=:] ) ]]; then
      words[n - 1]+=$word
    else
      words[n++]=$word
    fi
  done
  [[ $cur == [=:]* ]] && cur=''
  local head=\${words[n - 1]%"$cur"}
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] && continue
    printf -v value %q "\${line%%$'\\t'*}"
    [[ $cur == -*=* ]] && value=\${cur%%=*}=$value
    COMPREPLY+=("\${value#"$head"}")
  done < <(tidemark complete -- "\${words[@]}" 2>/dev/null)
}
complete -o default -F _tidemark tidemark
`;

const zsh = `#compdef tidemark
# zsh completion for tidemark: source <(tidemark complete zsh), after compinit
_tidemark() {
  local line
  local -a described
  while IFS= read -r line; do
    [[ $line == :* ]] && continue
    described+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(tidemark complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  [[ $PREFIX == -*=* ]] && compset -P '*='
  if (( $#described )); then
    _describe tidemark described
  else
    _files
  fi
}
if [[ $funcstack[1] == _tidemark ]]; then
  _tidemark "$@"
else
  compdef _tidemark tidemark
fi
`;

const fish = `# fish completion for tidemark: tidemark complete fish | source
function __tidemark_suggestions
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    set -l option (string match -r -- '^-.*=' "$current")
    set -l lines (tidemark complete -- $words "$current" 2>/dev/null | string match -v -- ':*')
    if test (count $lines) -eq 0
        __fish_complete_path "$current"
    else
        printf '%s\\n' "$option"$lines
    end
end
complete -c tidemark -e
complete -c tidemark -f -a '(__tidemark_suggestions)'
`;

export const completionScripts = Object.freeze({ bash, zsh, fish });

export function isShell(text: string): text is keyof typeof completionScripts {
  return Object.hasOwn(completionScripts, text);
}
