import { DnsFailure } from '../dns-failure.ts';
import type { TxtRecord } from '../dns-provider.ts';
import { askTxt } from './ask-txt.ts';
import type { DnsLookup, ZoneServers } from './dns-lookup.ts';
import type { ServerAddress } from './exchange.ts';

export interface VisibilityPorts {
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
