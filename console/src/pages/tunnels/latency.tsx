import { milliseconds } from '../../format/amounts.ts';
import type { AgentTraffic } from './tunnel-traffic.ts';

/** Round trips of the last pings to the agent: one number, or from the fastest connection to the slowest. */
export function Latency({ agent }: { agent: AgentTraffic | undefined }) {
  const connections = agent?.connections ?? [];
  const known = connections.flatMap(({ round_trip_ms: ms }) => (ms === null ? [] : [ms]));
  if (known.length === 0) return <span class="muted">–</span>;
  const [least, most] = [shortly(Math.min(...known)), shortly(Math.max(...known))];
  const each = connections.map(({ node, round_trip_ms: ms }) => `${node}: ${ms === null ? '–' : milliseconds(ms)}`);
  return <span title={each.join('\n')}>{least === most ? `${most} ms` : `${least}–${most} ms`}</span>;
}

/** The tooltip has the rest. */
function shortly(ms: number): string {
  return ms < 1 ? '<1' : String(Math.round(ms));
}
