/** Replaces credentials in texts that people see. */

export const hidden = '[redacted]';

/** Fields that hold a credential, whatever they say; `args` are those of a Redis command that failed, such as AUTH. */
const secretNames =
  'api[-_]?key|x-api-key|pass(?:word|wd)|secret|token|authorization|proxy-authorization|cookie|connectionString';
export const secretField = new RegExp(`^(?:${secretNames}|args)$`, 'i');

/** The user information of a URL, up to the last @ before its path, as a URL's parser reads it. */
const userInfo = /\b([a-z][a-z\d+.-]*:\/\/)([^\s/?#]*)@/gi;
/** `password=...` of a URL's query or of a connection string in words. */
const parameter = new RegExp(`((?:[?&]|\\b)(?:ssl)?(?:${secretNames})=)(?:'[^']*'|[^\\s&'"#,;]+)`, 'gi');
/** `"password": "..."` of JSON that a text quotes. */
const jsonField = new RegExp(`("(?:${secretNames})"\\s*:\\s*")(?:\\\\.|[^"\\\\])*"`, 'gi');
/** A header in words. */
const header = /\b((?:proxy-)?authorization|x-api-key|(?:set-)?cookie)(\s*:\s*)[^'",;\r\n]+/gi;
/** What follows is the credential, unless the sentence is about the scheme. */
const bearer = /\b(Bearer )(?!(?:token|auth\w*|scheme|realm)\b)[^\s'",;]+/g;

/**
 * The text without the credentials that stand where credentials stand: in URLs, headers and named fields. Letters that
 * happen to equal a password stay: replacing them would spoil the sentence, and tell the password.
 */
export function withoutCredentials(text: string): string {
  return text
    .replace(userInfo, (_, scheme: string, info: string) => {
      const colon = info.indexOf(':');
      if (colon !== -1) return `${scheme}${info.slice(0, colon)}:${hidden}@`;
      // A lone name is a key in an address of the web, and a role in a database's.
      return /^https?:/i.test(scheme) ? `${scheme}${hidden}@` : `${scheme}${info}@`;
    })
    .replace(parameter, `$1${hidden}`)
    .replace(jsonField, `$1${hidden}"`)
    .replace(header, `$1$2${hidden}`)
    .replace(bearer, `$1${hidden}`);
}

/** Whether the address of a source may hold a key or a password: it is shown to people. */
export function mayHoldCredentials({ username, password, search }: URL): boolean {
  return username !== '' || password !== '' || search !== '';
}
