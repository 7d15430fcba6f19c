import type {
  AnnouncedEndpoint,
  AnnouncedSession,
  AnnouncedTunnel,
} from '../../../src/tunnel/nodes/directory/announced.ts';

export function announcedSession(
  id: string,
  homeNodeId: string,
  fields: Partial<AnnouncedSession> = {},
): AnnouncedSession {
  return { id, credentialId: 'cr_1', homeNodeId, epoch: 1, doc: { os: 'linux' }, ...fields };
}

export function labelled(id: string, sessionId: string, labels: Readonly<Record<string, string>>): AnnouncedTunnel {
  return { id, sessionId, epoch: 1, doc: { labels }, labels, forwardsTo: 'http://localhost:3000', endpoint: null };
}

export function published(id: string, sessionId: string, fields: Partial<AnnouncedEndpoint>): AnnouncedTunnel {
  const endpoint: AnnouncedEndpoint = {
    ...{ id: id.replace('tn_', 'ep_'), proto: 'https', host: null, port: null, modules: {}, doc: { tunnel_id: id } },
    ...fields,
  };
  return { id, sessionId, epoch: 1, doc: {}, labels: null, forwardsTo: 'http://localhost:3000', endpoint };
}
