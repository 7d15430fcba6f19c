import type { FastifyReply } from 'fastify';
import type { PosternError } from '../../lib/errors.ts';
import { escapedHtml, PAGE_STYLE_SOURCE, type PlainPage, plainPage } from '../../lib/http/plain-page.ts';
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
  const body = `<p>${escapedHtml(sentence)}</p>${action}`;
  const answer = reply.code(error.status).headers(error.headers);
  return sendPage(answer, { title, body, footer: `<code>${error.code}</code>` });
}

/** A page without any script, and without a form unless it has one. */
export function sendPage(reply: FastifyReply, page: PlainPage, { hasForm = false } = {}): FastifyReply {
  const forms = hasForm ? "'self'" : "'none'";
  const policy = `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; base-uri 'none'; form-action ${forms}; frame-ancestors 'none'`;
  return reply
    .headers({ ...PAGE_HEADERS, 'cache-control': 'no-store', 'content-security-policy': policy })
    .type('text/html; charset=utf-8')
    .send(plainPage(page));
}
