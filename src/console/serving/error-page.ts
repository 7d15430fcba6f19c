import type { FastifyReply } from 'fastify';
import type { PosternError } from '../../lib/errors.ts';
import { escapedHtml, PAGE_STYLE_SOURCE, plainPage } from '../../lib/http/plain-page.ts';
import { PAGE_HEADERS } from './page-headers.ts';

export interface ErrorPageText {
  readonly title: string;
  readonly link?: { readonly href: string; readonly text: string };
}

/** An error for a person in a browser, without any script. */
export function sendErrorPage(reply: FastifyReply, error: PosternError, { title, link }: ErrorPageText): FastifyReply {
  const sentence = `${error.message.slice(0, 1).toUpperCase()}${error.message.slice(1)}.`;
  const action =
    link === undefined ? '' : `<p><a class="button" href="${escapedHtml(link.href)}">${escapedHtml(link.text)}</a></p>`;
  return reply
    .code(error.status)
    .headers({
      ...PAGE_HEADERS,
      ...error.headers,
      'content-security-policy': `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    })
    .type('text/html; charset=utf-8')
    .send(plainPage({ title, body: `<p>${escapedHtml(sentence)}</p>${action}`, footer: `<code>${error.code}</code>` }));
}
