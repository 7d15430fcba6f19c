import type { KeptExchange } from './kept-exchange.ts';
import { shownHeaders } from './sensitive-headers.ts';

type Term = (exchange: KeptExchange) => boolean;

/**
 * Terms that must all match: `method:post`, `status:404`, `status:4xx`, `status:failed`, `status:open`, `path:/api`,
 * `tunnel:web`, `body:text`. Any other term is searched for in method, path, host, status, problem and the headers as
 * displayed.
 */
export function parseFilter(text: string, isUnmasked: boolean): Term {
  const terms = text
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => termOf(word, isUnmasked));
  return (exchange) => terms.every((term) => term(exchange));
}

function termOf(word: string, isUnmasked: boolean): Term {
  const [, field = '', wanted = ''] = /^(method|status|path|tunnel|body):(.+)$/i.exec(word) ?? [];
  const lower = wanted.toLowerCase();
  switch (field.toLowerCase()) {
    case 'method':
      return ({ method }) => method.toLowerCase() === lower;
    case 'status':
      return (exchange) => hasStatus(exchange, lower);
    case 'path':
      return ({ request }) => request.target.toLowerCase().includes(lower);
    case 'tunnel':
      return ({ request }) => request.tunnel.name.toLowerCase() === lower;
    case 'body':
      return ({ requestBody, responseBody }) =>
        requestBody.bytes.includes(wanted) || responseBody.bytes.includes(wanted);
    default:
      return (exchange) => hasText(exchange, word.toLowerCase(), isUnmasked);
  }
}

function hasStatus({ status, problem, isOver }: KeptExchange, wanted: string): boolean {
  if (wanted === 'failed') return problem !== null;
  if (wanted === 'open') return !isOver;
  if (status === null) return false;
  return /^[1-5]xx$/.test(wanted) ? String(status)[0] === wanted[0] : String(status) === wanted;
}

function hasText(exchange: KeptExchange, wanted: string, isUnmasked: boolean): boolean {
  const { request, responseHeaders, method, status, problem } = exchange;
  const has = (text: string): boolean => text.toLowerCase().includes(wanted);
  if (has(request.target) || has(request.authority) || has(method) || has(String(status ?? '')) || has(problem ?? '')) {
    return true;
  }
  // Matches the displayed value: otherwise a hidden value could be guessed letter by letter.
  return [request.headers, responseHeaders].some((headers) =>
    shownHeaders(headers, isUnmasked).some(({ name, value }) => has(`${name}: ${value}`)),
  );
}
