import type { JsonObject } from '../lib/json.ts';
import type { ResourceSettings } from '../resources/resource.ts';

/** Settings that reject nothing: only the server knows its own. */
export function offlineSettings(config: JsonObject): ResourceSettings {
  return {
    moduleSettings: new Map(),
    edgePorts: null,
    tunnelNamesUnder: () => [],
    certificateFileDirs: [],
    region: '',
    domain: '',
    scopes: [],
    // Event types are known to the server, which may be of another version.
    eventTypes: eventTypesIn(config),
    identity: null,
    consoleScopesOf: () => [],
    inviteAgent: () => Promise.resolve({ problem: 'needs a server' }),
  };
}

function eventTypesIn({ sources }: JsonObject): readonly string[] {
  return Array.isArray(sources) ? (sources as readonly { readonly type: string }[]).map(({ type }) => type) : [];
}
