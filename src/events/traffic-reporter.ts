import type { JsonObject } from '../lib/json.ts';
import type { RawConnectionFacts } from '../telemetry/facts/raw-connection-facts.ts';
import type { RequestFacts } from '../telemetry/facts/request-facts.ts';
import type { EventRecorder } from './event-recorder.ts';
import { CONNECTION_CLOSED, connectionObject, REQUEST_COMPLETE, requestObject } from './traffic-events.ts';

/** Passed to the edge. The edge checks first, so that nobody collects facts without a subscription. */
export interface TrafficReporter {
  wantsRequests(): boolean;
  requestComplete(facts: RequestFacts): void;
  wantsConnections(): boolean;
  connectionClosed(connectionId: string, facts: RawConnectionFacts): void;
  /** A module reports an event of a type that it declares. */
  moduleEvent(type: string, object: JsonObject): void;
}

/** `node`: this node's name. */
export function createTrafficReporter(recorder: EventRecorder, node: string): TrafficReporter {
  return {
    wantsRequests: () => recorder.isWanted(REQUEST_COMPLETE),
    requestComplete: (facts) => {
      const object = requestObject(facts, node);
      if (object !== null) recorder.record(REQUEST_COMPLETE, object);
    },
    wantsConnections: () => recorder.isWanted(CONNECTION_CLOSED),
    connectionClosed: (id, facts) => recorder.record(CONNECTION_CLOSED, connectionObject(id, facts, node)),
    moduleEvent: (type, object) => recorder.record(type, { ...object, node }),
  };
}
