import type { TunnelFigures } from '../../telemetry/live/installation-tunnels.ts';
import type { OnlineTunnel } from './online-tunnels.ts';

interface ListedTunnels {
  all(): Iterable<OnlineTunnel>;
  get(id: string): OnlineTunnel | undefined;
}

/**
 * A tunnel whose agent is connected here and elsewhere is in both lists, and is used through each. Null: it was listed
 * already. A reader may continue in a later turn, and finds a tunnel twice that went and came back meanwhile.
 */
export function* tunnelFigures(here: ListedTunnels, elsewhere: ListedTunnels): Generator<TunnelFigures | null> {
  for (const tunnel of here.all()) yield figuresOf(tunnel, elsewhere.get(tunnel.id));
  for (const tunnel of elsewhere.all()) yield here.get(tunnel.id) === undefined ? figuresOf(tunnel, undefined) : null;
}

function figuresOf({ id, inFlight, use }: OnlineTunnel, other: OnlineTunnel | undefined): TunnelFigures {
  return {
    id,
    requests: use.requests + (other?.use.requests ?? 0),
    bytesIn: use.bytesIn + (other?.use.bytesIn ?? 0),
    bytesOut: use.bytesOut + (other?.use.bytesOut ?? 0),
    inProgress: inFlight - use.hopsInFlight + (other === undefined ? 0 : other.inFlight - other.use.hopsInFlight),
  };
}
