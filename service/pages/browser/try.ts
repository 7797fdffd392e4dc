/** Sends the requests of the forms at `/docs`, and shows the answers as text, as they came. */

/** Longest part of an answer that is shown. */
const maxCharacters = 20_000;

const shownHeaders = [
  ...['x-tidemark-coverage', 'x-tidemark-derived-from', 'x-tidemark-replica-lag', 'retry-after'],
  ...['x-ratelimit-limit', 'x-ratelimit-remaining'],
];

for (const form of document.querySelectorAll<HTMLFormElement>('form.try'))
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(form);
  });

async function send(form: HTMLFormElement): Promise<void> {
  const status = form.querySelector('[role=status]');
  const answer = form.querySelector('pre');
  if (status === null || answer === null) return;
  const address = addressOf(form);
  const key = document.querySelector<HTMLInputElement>('#key')?.value.trim() ?? '';
  status.textContent = 'Waiting for the answer.';
  try {
    const response = await fetch(address, {
      // Not the password of the dashboard.
      credentials: 'omit',
      headers: key === '' ? {} : { authorization: `Bearer ${key}` },
    });
    const text = await response.text();
    const headers = shownHeaders.flatMap((name) => {
      const value = response.headers.get(name);
      return value === null ? [] : [`${name}: ${value}`];
    });
    answer.textContent = [`GET ${address}`, ...headers, '', text.slice(0, maxCharacters)].join('\n');
    answer.hidden = false;
    const cut = text.length > maxCharacters ? ` Shown are the first ${maxCharacters}.` : '';
    status.textContent = `Status ${response.status}, ${text.length} characters.${cut}`;
  } catch {
    answer.hidden = true;
    status.textContent = 'The service does not answer.';
  }
}

/** Relative to the page, as a proxy may serve both below a path of its own. Empty parameters are left out. */
function addressOf(form: HTMLFormElement): string {
  let path = form.dataset.path ?? '';
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll('input')) {
    const name = input.dataset.name ?? '';
    const value = input.value.trim();
    if (input.dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '') query.set(name, value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
}
