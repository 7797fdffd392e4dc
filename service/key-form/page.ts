/** The page on which a key is asked for. */

import { escaped } from '../web-security.ts';

export const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
label{display:block;margin:1rem 0 .25rem}input,textarea{font:inherit;width:100%;padding:.4rem;box-sizing:border-box;border:1px solid #8b949e;border-radius:4px}
button{font:inherit;margin-top:1rem;padding:.4rem 1.2rem}[role=alert]{color:#a40e26}`;

export interface Entered {
  readonly name: string;
  readonly address: string;
  readonly purpose: string;
}

const nothing: Entered = { name: '', address: '', purpose: '' };

/** @param complaint what is wrong with `entered`, which is shown again; null: nothing was entered yet. */
export function formPage(complaint: string | null, entered: Entered = nothing): string {
  const alert = complaint === null ? '' : `<p role="alert">${escaped(complaint)}</p>`;
  return page(`${alert}<p>Requests work without a key. One raises the limit of requests a minute, and opens all of the
history that is stored. It is sent to the address below once the operator has approved the request.</p>
<form method="post" action="keys">
<label for="name">Your name</label><input id="name" name="name" required maxlength="100" autocomplete="name" value="${escaped(entered.name)}">
<label for="address">E-mail address</label><input id="address" name="address" type="email" required maxlength="200" autocomplete="email" value="${escaped(entered.address)}">
<label for="purpose">What the key is for</label><textarea id="purpose" name="purpose" required minlength="10" maxlength="1000" rows="4">${escaped(entered.purpose)}</textarea>
<button>Ask for a key</button>
</form>`);
}

export function messagePage(message: string): string {
  return page(`<p>${escaped(message)}</p>`);
}

function page(content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Ask for a key</title><style>${style}</style></head>
<body><h1>Ask for a key</h1>
${content}
</body></html>
`;
}
