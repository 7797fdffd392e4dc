/** Buttons that do what commands do. Where the page may not act, each shows its command instead. */

import type { ActionLine } from '../shapes.ts';
import { copyable } from './begin-here.ts';
import { element, fill, listSection } from './element.ts';
import { formatCount, formatDuration, formatSecond } from './format.ts';

const tokenName = 'tidemark-token';

/** Keeps the token that the address has after `#token=`, and takes it out of the address. */
export function takeToken(): void {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined) return;
  sessionStorage.setItem(tokenName, token);
  history.replaceState(null, '', `${location.pathname}${location.search}`);
}

type Answer = Readonly<Record<string, unknown>>;

/** @throws Error with what the service said. */
async function post(action: string, body: object): Promise<Answer> {
  const token = sessionStorage.getItem(tokenName);
  const answer = await fetch(`dashboard/actions/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token !== null && { 'x-tidemark-token': token }) },
    body: JSON.stringify(body),
  });
  const said = (await answer.json().catch(() => ({}))) as Answer;
  if (answer.ok) return said;
  throw new Error(
    [said.error ?? `the server answered ${answer.status}`, said.remedy].filter(Boolean).join('; '),
  );
}

interface Action {
  readonly title: string;
  readonly action: string;
  readonly body: object;
  /** The same at a terminal. */
  readonly command: string;
  /** Asked before; absent: nothing. */
  readonly confirm?: string;
}

/** A row of buttons, and what became of the last one that was used. */
export function actionBar(label: string, actions: readonly Action[]): HTMLElement {
  const result = element('div', { role: 'status' });
  const buttons = actions.map((action) => {
    const button = element('button', { type: 'button' }, action.title);
    button.addEventListener('click', () => {
      if (action.confirm !== undefined && !confirm(action.confirm)) return;
      void perform(action, result);
    });
    return button;
  });
  return element(
    'div',
    { class: 'actions' },
    element('div', { class: 'controls', role: 'group', 'aria-label': label }, ...buttons),
    result,
  );
}

async function perform({ title, action, body, command }: Action, result: HTMLElement): Promise<void> {
  fill(result, element('p', {}, `${title}: requested.`));
  try {
    const { state, result: said } = await post(action, body);
    const text =
      state === 'running' ? 'running; its result is listed below Problems' : String(said ?? 'done');
    fill(result, element('p', {}, `${title}: ${text}.`));
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    fill(result, element('p', { class: 'bad' }, `${title}: ${text}.`), copyable(command));
  }
}

/** What can be done with one series. @param name as commands take it. */
export function seriesActions(id: number, name: string): HTMLElement {
  const series = [String(id)];
  return actionBar('Actions', [
    { title: 'Retry now', action: 'retry', body: { series }, command: `npx tidemark retry ${id}` },
    {
      title: 'Verify a sample',
      action: 'verify',
      body: { series },
      command: `npx tidemark verify ${id} --sample 30`,
    },
    { title: 'Repair differences', action: 'repair', body: { series }, command: `npx tidemark repair ${id}` },
    {
      title: 'Untrack',
      action: 'untrack',
      body: { series },
      command: `npx tidemark untrack ${id}`,
      confirm: `Untrack ${name}? Its stored points stay.`,
    },
  ]);
}

/** What can be done with all. */
export function commonActions(): HTMLElement {
  return actionBar('All series', [
    { title: 'Retry all now', action: 'retry', body: {}, command: 'npx tidemark retry' },
    {
      title: 'Pause',
      action: 'pause',
      body: {},
      command: 'npx tidemark pause',
      confirm: 'Pause all requests, on all machines?',
    },
    { title: 'Resume', action: 'resume', body: {}, command: 'npx tidemark resume' },
  ]);
}

const intervals = ['m1', 'm5', 'm15', 'm30', 'h1', 'h2', 'h4', 'h8', 'h12', 'd1', 'w1'];

/** Tracks candles, after a look at what they cost. */
export function trackForm(): HTMLElement {
  const input = (name: string, value: string) =>
    element('input', {
      id: `track-${name}`,
      name,
      value,
      required: true,
      autocomplete: 'off',
      spellcheck: false,
    });
  const fields = {
    exchange: input('exchange', ''),
    base: input('base', ''),
    quote: input('quote', ''),
    from: input('from', '1y'),
  };
  const interval = element(
    'select',
    { id: 'track-interval', name: 'interval' },
    ...intervals.map((name) => element('option', { value: name, selected: name === 'h1' }, name)),
  );
  const result = element('div', { role: 'status' });
  const labelled = (name: string, field: HTMLElement) =>
    element('span', { class: 'field' }, element('label', { for: `track-${name}` }, name), field);
  const form = element(
    'form',
    { class: 'controls' },
    ...Object.entries(fields).map(([name, field]) => labelled(name, field)),
    labelled('interval', interval),
    element('button', { type: 'submit' }, 'Show the cost'),
  );
  const body = () => {
    const { exchange, base, quote, from } = fields;
    const names = { exchange: exchange.value, base: base.value, quote: quote.value, from: from.value };
    return { dataset: 'candles', ...names, intervals: [interval.value] };
  };
  const command = () => {
    const { exchange, base, quote, from } = body();
    return `npx tidemark track candles --exchange ${exchange} --base ${base} --quote ${quote} --interval ${interval.value} --from ${from}`;
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void plan();
  });
  async function plan(): Promise<void> {
    const asked = body();
    try {
      const cost = await post('plan', asked);
      const notes = Array.isArray(cost.notes) ? cost.notes.join('; ') : '';
      const bytes = Number(cost.diskBytes) / 1e6;
      fill(
        result,
        element(
          'p',
          {},
          `${formatCount(Number(cost.requests))} requests, ${formatDuration(Math.max(1000, Number(cost.durationMs)))}, up to ${formatCount(Number(cost.points))} points, ${formatCount(Math.ceil(bytes))} MB${notes === '' ? '' : `; ${notes}`}.`,
        ),
        actionBar('Track it', [{ title: 'Track', action: 'track', body: asked, command: command() }]),
      );
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      fill(result, element('p', { class: 'bad' }, `${text}.`), copyable(command()));
    }
  }
  return element('details', {}, element('summary', {}, 'Track a market'), form, result);
}

/** The newest actions, whoever asked for them. */
export async function recentActions(): Promise<HTMLElement> {
  const answer = await fetch('dashboard/actions');
  const lines = answer.ok ? ((await answer.json()) as readonly ActionLine[]) : [];
  return listSection(
    'Actions',
    'None at this dashboard.',
    'The newest, of all processes',
    ['Action', 'When', 'By', 'Result'],
    lines.map(({ action, timeMs, userName, address, state, result, progress }) => [
      action,
      formatSecond(timeMs),
      userName === null ? address : `${userName} at ${address}`,
      state === 'running'
        ? `running${progress === null ? '' : `: ${progress.done} of ${progress.of}`}`
        : `${state}: ${result ?? ''}`,
    ]),
  );
}
