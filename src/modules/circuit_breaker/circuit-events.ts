import Type from 'typebox';
import type { ModuleEvent } from '../contract/shows-state.ts';

export const CIRCUIT_OPENED = 'circuit_opened.v0';
export const CIRCUIT_CLOSED = 'circuit_closed.v0';

const place = {
  edge_id: Type.String({ description: 'Id of the edge.' }),
  route_id: Type.String({ description: 'Id of the route.' }),
};

export const circuitEvents: readonly ModuleEvent[] = [
  {
    type: CIRCUIT_OPENED,
    description: 'The circuit breaker of a route opened on a node: its backend fails.',
    object: Type.Object({ ...place, opened_at: Type.String({ description: 'When it opened.' }) }),
  },
  {
    type: CIRCUIT_CLOSED,
    description: 'The circuit breaker of a route closed on a node.',
    object: Type.Object({
      ...place,
      closed_at: Type.String({ description: 'When it closed.' }),
      cause: Type.Enum(['probe', 'configuration'], {
        description:
          'Why it closed: "probe" if the backend served a request again, "configuration" if the module was changed, disabled or deleted.',
      }),
    }),
  },
];
