import type { JsonObject } from '../../kit/json.ts';
import type { GatewayEvents } from './ports.ts';

interface AgentEventPorts {
  readonly recording: { isWanted(type: string): boolean; record(type: string, object: JsonObject): void };
  /** Returns what GET shows. */
  readonly read: (resource: string, id: string) => Promise<JsonObject | null>;
  readonly onProblem: (error: unknown) => void;
}

const SESSION = { resource: 'tunnel_sessions', start: 'agent_session_start.v0', stop: 'agent_session_stop.v0' };
const TUNNEL = { resource: 'tunnels', start: 'tunnel_start.v0', stop: 'tunnel_stop.v0' };

/** Reports agents' activity as events. A departed object can no longer be read: it is shown as it was on arrival. */
export function agentEvents({ recording, read, onProblem }: AgentEventPorts): GatewayEvents {
  const shown = new Map<string, Promise<JsonObject | null>>();

  const onProblemNull = (error: unknown): null => {
    onProblem(error);
    return null;
  };
  const started = ({ resource, start, stop }: typeof SESSION, id: string): void => {
    if (!recording.isWanted(start) && !recording.isWanted(stop)) return;
    const object = read(resource, id);
    shown.set(id, object);
    object.then((found) => {
      if (found !== null) recording.record(start, found);
    }, onProblem);
  };
  const taken = ({ resource, stop }: typeof SESSION, id: string): void => {
    if (recording.isWanted(stop)) shown.set(id, read(resource, id).catch(onProblemNull));
  };
  const stopped = ({ stop }: typeof SESSION, id: string): void => {
    const object = shown.get(id) ?? Promise.resolve(null);
    shown.delete(id);
    if (!recording.isWanted(stop)) return;
    // An object that arrived before anybody wanted its events is known only by its id.
    object.then((found) => recording.record(stop, found ?? { id }), onProblem);
  };

  return {
    sessionStarted: (id) => started(SESSION, id),
    sessionStopped: (id) => stopped(SESSION, id),
    tunnelStarted: (id) => started(TUNNEL, id),
    tunnelStopped: (id) => stopped(TUNNEL, id),
    sessionTaken: (id, tunnelIds) => {
      taken(SESSION, id);
      for (const tunnelId of tunnelIds) taken(TUNNEL, tunnelId);
    },
    sessionGiven: (id, tunnelIds) => {
      for (const each of [id, ...tunnelIds]) shown.delete(each);
    },
  };
}
