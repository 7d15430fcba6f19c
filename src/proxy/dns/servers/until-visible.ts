import { randomInt } from 'node:crypto';
import { OPERATION, readTexts, TYPE, writeMessage } from '../dns-messages.ts';
import { DnsFailure, type TxtRecord } from '../dns-provider.ts';
import type { DnsLookup, ZoneServers } from './dns-lookup.ts';
import { ExchangeFailure, exchangeOverTcp, exchangeOverUdp, type ServerAddress } from './exchange.ts';

interface VisibilityPorts {
  readonly lookup: DnsLookup;
  readonly nowMs: () => number;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

const FIRST_MS = 1_000;
const LONGEST_MS = 10_000;
const MAX_SHOWN = 4;
const NO_ROUTE = Symbol('no route');

/**
 * Waits until every name server of the zone has the value. A CA asks any of them, and remembers a wrong answer: asking
 * too early costs an order.
 */
export async function untilVisible(
  record: TxtRecord,
  timeoutMs: number,
  ports: VisibilityPorts,
  signal: AbortSignal,
): Promise<void> {
  const untilMs = ports.nowMs() + timeoutMs;
  for (let waitMs = FIRST_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_MS)) {
    const missing = await missingAt(record, ports.lookup, signal);
    if (missing.length === 0) return;
    signal.throwIfAborted();
    if (ports.nowMs() + waitMs > untilMs) {
      const reasons = missing.slice(0, MAX_SHOWN).join('; ');
      const message = `the TXT record ${record.name} is not visible everywhere after ${timeoutMs / 1000} s (acme_dns_timeout): ${reasons}`;
      throw new DnsFailure(message, { isPending: true });
    }
    await ports.wait(waitMs, signal);
  }
}

/** One round of questions. Empty: every server has the value. */
export async function missingAt(record: TxtRecord, lookup: DnsLookup, signal: AbortSignal): Promise<readonly string[]> {
  let found: ZoneServers;
  try {
    found = await lookup.serversOf(record.name);
  } catch (error) {
    if (!(error instanceof DnsFailure)) throw error;
    return [error.message];
  }
  const asked = found.servers.flatMap(({ host, addresses }) => addresses.map((server) => ({ host, server })));
  const answers = await Promise.all(asked.map((each) => missingHere(record, each, signal)));
  const unseen = answers.filter((answer): answer is string => answer !== NO_ROUTE && answer !== null);
  if (answers.some((answer) => answer !== NO_ROUTE)) return unseen;
  const hosts = found.servers.map(({ host }) => host).join(', ');
  return [`none of the name servers of ${found.zone} (${hosts || 'none'}) has an address that this machine can reach`];
}

/** Null: it has the value. */
async function missingHere(
  { name, value }: TxtRecord,
  { host, server }: { readonly host: string; readonly server: ServerAddress },
  signal: AbortSignal,
): Promise<string | null | typeof NO_ROUTE> {
  const answer = await askTxt(server, name, signal);
  if (answer.kind === 'no route') return NO_ROUTE;
  const who = `${host} (${server.address})`;
  if (answer.kind === 'failed') return `${who}: ${answer.reason}`;
  if (answer.values.includes(value)) return null;
  return `${who}: ${answer.values.length === 0 ? 'it has no such record' : 'it has other values only'}`;
}

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
type TxtAnswer =
  | { readonly kind: 'values'; readonly values: readonly string[] }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'no route' };

const NO_ROUTE_CODES: readonly string[] = ['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'];

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
    return NO_ROUTE_CODES.includes(error.code) ? { kind: 'no route' } : { kind: 'failed', reason: error.message };
  }
}
