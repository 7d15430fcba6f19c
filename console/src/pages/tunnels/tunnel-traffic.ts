import { useRef, useState } from 'preact/hooks';
import type { LiveMessage } from '../../api/use-live.ts';

interface Amounts {
  readonly requests: number;
  readonly bytes: number;
}

export interface TunnelTraffic extends Amounts {
  readonly in_progress: number;
}

export interface AgentTraffic extends Amounts {
  readonly connections: readonly { readonly node: string; readonly round_trip_ms: number | null }[];
}

/** The state of `tunnel_traffic` at one time, by id. */
interface Sample {
  readonly atMs: number;
  readonly tunnels: ReadonlyMap<string, TunnelTraffic>;
  readonly agents: ReadonlyMap<string, AgentTraffic>;
}

export interface Rates {
  readonly requests: number;
  readonly bytes: number;
}

export interface LiveTraffic {
  tunnel(id: string): TunnelTraffic | undefined;
  agent(id: string): AgentTraffic | undefined;
  /** Per second, over the last ten seconds; null while they are not known. */
  tunnelRates(id: string): Rates | null;
  agentRates(id: string): Rates | null;
}

const WINDOW_MS = 10_000;

/** The server sends totals: rates are differences. A total that shrank belongs to a connection that is gone. */
export function useTunnelTraffic(): { traffic: LiveTraffic; take: (message: LiveMessage) => void } {
  const samples = useRef<readonly Sample[]>([]);
  const [, setTaken] = useState(0);
  const take = ({ topic, at, data }: LiveMessage): void => {
    if (topic !== 'tunnel_traffic') return;
    const sample = sampleOf(Date.parse(at ?? ''), data as LiveData);
    const young = samples.current.filter(({ atMs }) => sample.atMs - atMs <= WINDOW_MS && sample.atMs > atMs);
    samples.current = [...young, sample];
    setTaken(sample.atMs);
  };
  const [oldest, newest] = [samples.current[0], samples.current.at(-1)];
  const seconds = newest === undefined || oldest === undefined ? 0 : (newest.atMs - oldest.atMs) / 1000;
  return {
    take,
    traffic: {
      tunnel: (id) => newest?.tunnels.get(id),
      agent: (id) => newest?.agents.get(id),
      tunnelRates: (id) => ratesOf(oldest?.tunnels.get(id), newest?.tunnels.get(id), seconds),
      agentRates: (id) => ratesOf(oldest?.agents.get(id), newest?.agents.get(id), seconds),
    },
  };
}

interface LiveData {
  readonly tunnels: readonly {
    readonly id: string;
    readonly requests: number;
    readonly in_progress: number;
    readonly bytes_in: number;
    readonly bytes_out: number;
  }[];
  readonly agents: readonly {
    readonly id: string;
    readonly bytes_received: number;
    readonly bytes_sent: number;
    readonly connections: AgentTraffic['connections'];
  }[];
}

function sampleOf(atMs: number, { tunnels, agents }: LiveData): Sample {
  return {
    atMs,
    tunnels: new Map(tunnels.map((each) => [each.id, { ...each, bytes: each.bytes_in + each.bytes_out }])),
    agents: new Map(
      agents.map((each) => [each.id, { ...each, requests: 0, bytes: each.bytes_received + each.bytes_sent }]),
    ),
  };
}

function ratesOf(before: Amounts | undefined, now: Amounts | undefined, seconds: number): Rates | null {
  if (before === undefined || now === undefined || seconds === 0) return null;
  const [requests, bytes] = [now.requests - before.requests, now.bytes - before.bytes];
  return requests < 0 || bytes < 0 ? null : { requests: requests / seconds, bytes: bytes / seconds };
}
