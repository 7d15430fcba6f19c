import { rfc3339 } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Ref } from '../lib/schema/annotations.ts';
import type { OutboxEvent } from '../store/store.ts';
import { LOCAL_CALLER } from './operation.ts';
import type { SharedPorts } from './shared-ports.ts';

export interface LiveEventPorts extends Pick<SharedPorts, 'ref' | 'clock' | 'newId'> {
  readonly accountId: string;
  /** `unknown` where another process may have just added a subscription: then the store decides. */
  isWanted(type: string): boolean | 'unknown';
}

/** An event about an object that no configuration resource describes, for the commit that it reports; none if nobody wants it. */
export function liveEvent(
  type: string,
  object: () => JsonObject,
  /** Empty: the server acts by itself. */
  apiKeyId: string,
  ports: LiveEventPorts,
): readonly OutboxEvent[] {
  const isWanted = ports.isWanted(type);
  if (isWanted === false) return [];
  const id = ports.newId('ev');
  const createdAtMs = ports.clock.nowMs();
  const principal = callerRef(apiKeyId, ports.ref);
  const payload: JsonObject = {
    event_id: id,
    event_type: type,
    event_timestamp: rfc3339(createdAtMs),
    account_id: ports.accountId,
    principal: principal && { ...principal },
    object: object(),
  };
  return [{ id, type, createdAtMs, payload, isUncertain: isWanted === 'unknown' }];
}

/** Null: the server itself, or a command on its machine, acts without a key or a session. */
export function callerRef(apiKeyId: string, ref: (id: string) => Ref): Ref | null {
  return apiKeyId === '' || apiKeyId.startsWith(LOCAL_CALLER) ? null : ref(apiKeyId);
}
