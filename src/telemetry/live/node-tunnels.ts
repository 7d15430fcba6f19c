import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { NodeTunnels } from './tunnel-figures.ts';

/** For another node: short, since an answer is bounded. */
export function packedTunnels({ tunnels, agents }: NodeTunnels): JsonObject {
  return {
    tunnels: tunnels.map(({ id, requests, bytesIn, bytesOut, inProgress }) => [
      ...[id, requests, bytesIn, bytesOut, inProgress],
    ]),
    agents: agents.map(({ id, roundTripsMs, bytesReceived, bytesSent }) => [
      ...[id, bytesReceived, bytesSent, ...roundTripsMs.map(rounded)],
    ]),
  };
}

/** Ignores what another node should not have sent. */
export function unpackedTunnels({ tunnels, agents }: JsonObject): NodeTunnels {
  return {
    tunnels: rowsOf(tunnels).map(([id, requests, bytesIn, bytesOut, inProgress]) => ({
      ...{ id, requests: numberOf(requests), bytesIn: numberOf(bytesIn), bytesOut: numberOf(bytesOut) },
      inProgress: numberOf(inProgress),
    })),
    agents: rowsOf(agents).map(([id, received, sent, ...roundTrips]) => ({
      ...{ id, bytesReceived: numberOf(received), bytesSent: numberOf(sent) },
      roundTripsMs: roundTrips.map((each) => (typeof each === 'number' ? each : null)),
    })),
  };
}

export function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}

type Row = readonly [id: string, ...JsonValue[]];

function rowsOf(value: JsonValue | undefined): readonly Row[] {
  const rows = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  return rows.filter((row): row is Row => Array.isArray(row) && typeof row[0] === 'string');
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0;
}
