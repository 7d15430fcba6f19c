import type { JsonObject } from '../../lib/json.ts';
import { parseRfc3339 } from '../../lib/text/rfc3339-time.ts';
import type { DeliveryFilter, DeliveryState } from '../../store/store.ts';
import { resourceErrors } from '../errors.ts';

export const deliveryStates = ['pending', 'delivered', 'dead', 'cancelled'] as const satisfies readonly DeliveryState[];

export function deliveryFilter(query: Readonly<Record<string, string>>): DeliveryFilter {
  const { subscription_id: subscriptionId, destination_id: destinationId, state } = query;
  return {
    ...(subscriptionId && { subscriptionId }),
    ...(destinationId && { destinationId }),
    ...(state && { state: state as DeliveryState }),
  };
}

/** The body has passed its schema, except for the check of date-times. */
export function replayFilter(body: JsonObject): DeliveryFilter {
  const sinceMs = timeIn(body, 'since');
  const untilMs = timeIn(body, 'until');
  return {
    state: (body['state'] ?? 'dead') as DeliveryState,
    ...(sinceMs !== null && { sinceMs }),
    ...(untilMs !== null && { untilMs }),
  };
}

function timeIn(body: JsonObject, name: string): number | null {
  const value = body[name];
  if (typeof value !== 'string') return null;
  const ms = parseRfc3339(value);
  if (ms !== null) return ms;
  throw resourceErrors.create(
    'ERR_POSTERN_INVALID_TIME',
    `${name} must be a time such as "2026-11-01T00:00:00Z" (RFC 3339)`,
    {
      details: { field: `/${name}` },
    },
  );
}
