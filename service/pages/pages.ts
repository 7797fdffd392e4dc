/**
 * The pages beside the dashboard: the description, the key form, and errors. They have the dashboard's style and one
 * frame.
 */

import { STATUS_CODES } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { printable } from '../../model/names.ts';
import { isInterfaceRequest } from '../request.ts';
import { readBuiltFile, sendBuiltFile } from './built-file.ts';

/** `content` is HTML: text in it is escaped already. */
export interface Page {
  readonly title: string;
  readonly content: string;
}

/** Sends a page. */
export type SendPage = (reply: FastifyReply, status: number, page: Page) => FastifyReply;

export type Pages = ReturnType<typeof createPages>;

/** The content security policy: files of this origin only, nothing inline, and no text as HTML or a script. */
export const policyOf = (formAction: "'none'" | "'self'") =>
  [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
    ...[`form-action ${formAction}`, "base-uri 'none'", "frame-ancestors 'none'"],
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ].join('; ');

/**
 * @param directory of the built files. @param hasDashboard whether `/` is the dashboard.
 * @throws Error when the files of the pages have not been built.
 */
export function createPages(directory: string, hasDashboard: boolean) {
  const files = ['frame.css', 'icon.svg', 'try.js'].map((name) => ({ name, file: readBuiltFile(directory, name) }));
  const links = [
    ...(hasDashboard ? [['', 'Dashboard'] as const] : []),
    ['docs', 'Interface'],
    ['keys', 'Keys'],
  ] as const;
  const send: SendPage = (reply, status, { title, content }) => {
    // Relative, as a proxy may serve all of this below a path of its own.
    const [path = '/'] = reply.request.url.split('?', 1);
    const root = '../'.repeat(path.split('/').length - 2);
    const navigation = links.map(([at, text]) => {
      const current = path === `/${at}` ? ' aria-current="page"' : '';
      return `<a href="${root}${at === '' && root === '' ? './' : at}"${current}>${text}</a>`;
    });
    return reply
      .code(status)
      .header('content-security-policy', policyOf("'self'"))
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Tidemark</title>
<link rel="icon" href="${root}pages/icon.svg">
<link rel="stylesheet" href="${root}pages/frame.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><p class="name">Tidemark</p><nav aria-label="Pages">${navigation.join('\n')}</nav></header>
<main id="main" tabindex="-1">
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`);
  };
  return {
    /** Adds the files of the frame, which the dashboard has too. */
    addTo: (app: FastifyInstance) => {
      for (const { name, file } of files)
        app.get(`/pages/${name}`, async (request, reply) => sendBuiltFile(request, reply, file));
    },
    send,
    /** Sends an error to a browser that opened the address. @returns null: to others, which get JSON. */
    sendError: (request: FastifyRequest, reply: FastifyReply, status: number, message: string) => {
      if (isInterfaceRequest(request) || !readsPages(request)) return null;
      return send(reply, status, {
        title: inSentenceCase(STATUS_CODES[status] ?? 'Error'),
        content: `<p>${escaped(sentenceOf(request, status, message))}</p>`,
      });
    },
  };
}

/** A path of which nothing else is known is named: a mistyped one is the usual cause. */
function sentenceOf({ url }: FastifyRequest, status: number, message: string): string {
  const [path = ''] = url.split('?', 1);
  return status === 404 && message === 'not found'
    ? `There is no page at ${printable(path).slice(0, maxShownPath)}. The links above lead to those there are.`
    : `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

function inSentenceCase(title: string): string {
  return `${title.charAt(0)}${title.slice(1).toLowerCase()}`;
}

/** Longest part of a path that an error shows. */
const maxShownPath = 200;

/** Browsers name HTML when they open an address; programs and scripts do not. */
function readsPages({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '');
}

/** Escapes text for HTML content and attributes. */
export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return text.replaceAll(/[&<>"']/g, (character) => names[character] ?? character);
}
