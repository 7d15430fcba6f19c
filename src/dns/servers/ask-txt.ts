import { randomInt } from 'node:crypto';
import { readTexts } from '../messages/read-message.ts';
import { OPERATION, TYPE, writeMessage } from '../messages/write-message.ts';
import { ExchangeFailure, exchangeOverTcp, exchangeOverUdp, type ServerAddress } from './exchange.ts';

const TIMEOUT_MS = 3_000;
const NAME_ERROR = 3;
const CODES: Readonly<Record<number, string>> = {
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
};

/** `no route`: from this machine, such as to an IPv6 address without IPv6. */
export type TxtAnswer =
  | { readonly kind: 'values'; readonly values: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'no route' };

const NO_ROUTE: readonly string[] = ['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'];

/** Asks one server, without its help in asking others, for the TXT records of a name. */
export async function askTxt(server: ServerAddress, name: string, signal: AbortSignal): Promise<TxtAnswer> {
  const id = randomInt(0x1_0000);
  const request = writeMessage({ id, operation: OPERATION.QUERY, question: { name, type: TYPE.TXT } });
  const options = { timeoutMs: TIMEOUT_MS, signal };
  try {
    const first = await exchangeOverUdp(server, request, options);
    const { message } = first.message.isTruncated ? await exchangeOverTcp(server, request, options) : first;
    if (message.code !== 0 && message.code !== NAME_ERROR)
      return { kind: 'failed', reason: `it answered ${CODES[message.code] ?? `code ${message.code}`}` };
    if (!message.isAuthoritative) return { kind: 'failed', reason: 'it does not serve the zone' };
    const values = message.answers.flatMap((record) => {
      const text = record.type === TYPE.TXT && record.name === name ? readTexts(record.data) : null;
      return text === null ? [] : [text];
    });
    return { kind: 'values', values };
  } catch (error) {
    if (!(error instanceof ExchangeFailure)) throw error;
    return NO_ROUTE.includes(error.code) ? { kind: 'no route' } : { kind: 'failed', reason: error.message };
  }
}
