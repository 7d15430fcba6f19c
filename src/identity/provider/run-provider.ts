import inject from 'light-my-request';
import type { Provider } from 'oidc-provider';
import { type HeaderList, pairsOf } from '../../lib/http/header-list.ts';
import type { WholeAnswer } from '../../lib/http/whole-request.ts';

export interface ProviderCall {
  /** Host, with the port if it is not 443: the library's URLs follow it. */
  readonly host: string;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
  readonly clientAddress: string;
}

/** All that the library reads. Anything else, such as what proxies report, stays outside. */
const PASSED: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'content-type',
  'cookie',
  'origin',
  'user-agent',
]);
/** The edge writes these. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

/** Runs the provider on a whole request. It always sees https and the identity host, whatever the visitor claims. */
export async function runProvider(provider: Provider, call: ProviderCall): Promise<WholeAnswer> {
  const { host, method, target, body, clientAddress } = call;
  const handle = handlerOf(provider);
  // The answer tells when it is done.
  const answer = await inject((req, res) => void handle(req, res), {
    method,
    url: target,
    headers: { ...passedHeaders(call.headers), host, 'x-forwarded-proto': 'https' },
    remoteAddress: clientAddress,
    ...(body.length > 0 && { payload: body }),
  });
  return { status: answer.statusCode, headers: headersOf(answer.headers), body: answer.rawPayload };
}

type Handler = ReturnType<Provider['callback']>;
const handlers = new WeakMap<Provider, Handler>();

function handlerOf(provider: Provider): Handler {
  const known = handlers.get(provider);
  if (known !== undefined) return known;
  const handler = provider.callback();
  handlers.set(provider, handler);
  return handler;
}

/** Cookies are one line, as HTTP/1.1 has them (RFC 9113 §8.2.3); of others the first counts. */
function passedHeaders(headers: HeaderList): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of pairsOf(headers)) {
    if (!PASSED.has(name)) continue;
    if (passed[name] === undefined) passed[name] = value;
    else if (name === 'cookie') passed[name] += `; ${value}`;
  }
  return passed;
}

function headersOf(headers: Readonly<Record<string, number | string | readonly string[] | undefined>>): HeaderList {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || FRAMING.has(name)) return [];
    return [value].flat().flatMap((line) => [name, String(line)]);
  });
}
