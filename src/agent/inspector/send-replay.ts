import { Readable } from 'node:stream';
import { reportBug } from '../../lib/bug-report.ts';
import type { RequestBody, UpstreamExchange } from '../../upstream/upstream.ts';
import { AgentError } from '../agent-error.ts';
import type { ExchangeObserver } from '../exchange-observer.ts';
import { type LocalAddress, parseLocalAddress } from '../local/local-address.ts';
import { problemText } from '../local/local-failure.ts';
import { openLocal } from '../local/open-local.ts';
import type { TunnelSpec } from '../options.ts';
import type { ReplayRequest } from './replay-request.ts';

export interface ReplayTarget {
  readonly forwardsTo: string;
  /** The Host of the original request. */
  readonly publicHost: string;
  readonly spec: Pick<TunnelSpec, 'hostHeader' | 'upstreamTls'> | undefined;
}

/** Ends a replay whose response never ends: no client is there to hang up. */
const REPLAY_TIMEOUT_MS = 120_000;

/**
 * Sends a request directly to the local service, as the agent would. The observer sees the whole exchange; nothing is
 * thrown.
 */
export function sendReplay(target: ReplayTarget, request: ReplayRequest, observer: ExchangeObserver): () => void {
  let exchange: UpstreamExchange | null = null;
  let isOver = false;
  const end = (problem: string | null): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    observer.onEnd(problem);
  };
  const giveUp = (problem: string): void => {
    if (isOver) return;
    exchange?.abort();
    end(problem);
  };
  const timer = setTimeout(() => giveUp(`timed out after ${REPLAY_TIMEOUT_MS / 1_000} s`), REPLAY_TIMEOUT_MS).unref();
  try {
    const address = parseLocalAddress(target.forwardsTo, 'http');
    const upstream = openLocal(address, target.spec?.upstreamTls);
    const { method, target: path, headers } = request;
    if (request.body.length > 0) observer.onRequestData(request.body);
    const authority = authorityOf(target, address);
    exchange = upstream.send(
      { method, target: path, authority, headers, body: framed(request.body), switchTo: null },
      {
        onInformational: () => {},
        onHead: (head) => observer.onResponseHead(head.status, head.headers),
        onSwitch: (_head, socket) => {
          socket.destroy();
          end('the service switched protocols without being asked');
        },
        onData: (chunk) => {
          observer.onResponseData(chunk);
          return true;
        },
        onEnd: () => end(null),
        onBug: (error) => {
          reportBug(error, { part: 'replay' });
          end(`the agent has a bug (${String(error)})`);
        },
        onFailure: (failure) => end(problemText(failure, failure.message, address.hostport)),
      },
    );
    // A replay has its own connections, which end with it.
    void upstream.drain();
  } catch (error) {
    end(error instanceof AgentError ? error.message : `it could not be sent: ${String(error)}`);
  }
  return () => giveUp('the inspector was closed');
}

function framed(body: Buffer): RequestBody {
  if (body.length === 0) return { framing: 'none' };
  return { framing: 'length', bytes: body.length, source: Readable.from(body), expectsContinue: false };
}

function authorityOf({ publicHost, spec }: ReplayTarget, address: LocalAddress): string {
  const hostHeader = spec?.hostHeader ?? 'preserve';
  if (hostHeader === 'preserve') return publicHost;
  return hostHeader === 'rewrite' ? address.authority : hostHeader;
}
