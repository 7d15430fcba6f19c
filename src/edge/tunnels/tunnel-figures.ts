import type { TunnelFigures } from '../../lib/tunnel-figures.ts';
import type { OnlineTunnel } from './online-tunnels.ts';

/** A tunnel whose agent is connected here and elsewhere is in several lists, and is used through each. */
export function tunnelFigures(lists: Iterable<Iterable<OnlineTunnel>>): TunnelFigures[] {
  const byId = new Map<string, TunnelFigures>();
  for (const list of lists) {
    for (const { id, inFlight, use } of list) {
      const known = byId.get(id);
      byId.set(id, {
        id,
        requests: use.requests + (known?.requests ?? 0),
        bytesIn: use.bytesIn + (known?.bytesIn ?? 0),
        bytesOut: use.bytesOut + (known?.bytesOut ?? 0),
        inProgress: inFlight - use.hopsInFlight + (known?.inProgress ?? 0),
      });
    }
  }
  return [...byId.values()];
}
