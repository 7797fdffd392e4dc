import { useState } from 'preact/hooks';

/** A command with a button that copies it, where the browser allows that. */
export function Copyable({ command }: { command: string }) {
  const [title, setTitle] = useState('Copy');
  const copy = () =>
    void navigator.clipboard.writeText(command).then(
      () => setTitle('Copied'),
      () => setTitle('Cannot copy'),
    );
  return (
    <p class="command">
      <code>{command}</code>{' '}
      {'clipboard' in navigator && (
        <button type="button" onClick={copy}>
          {title}
        </button>
      )}
    </p>
  );
}
