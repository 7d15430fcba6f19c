import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { StoredNode } from '../../../store/node-store.ts';
import type { NodeLinks } from '../links/node-links.ts';
import { PEER_SILENT_MS, type PeerMessage } from '../links/peer-links.ts';
import type { NodeMembership } from './node-membership.ts';
import type { PeerRenewal, RenewalPeers } from './renewals.ts';

const RENEW = 'node.renew';
const FAREWELL = 'node.farewell';
/** Shorter than a lease. On a busy machine the answer takes longer than the interval of heartbeats. */
const RENEW_TIMEOUT_MS = 1_000;
/** Subtracted from the time after which a silent link is dropped: clocks may run at different speeds. */
const KEPT_MARGIN_MS = 100;
const FAREWELL_TIMEOUT_MS = 500;
/** Below the size limit of a message. Nodes with the longest lease come first. */
const MAX_NODES_BYTES = 49_152;

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const durationMs = Type.Number({ minimum: 0 });
const linkWord = { linked_ms: durationMs, keeps_ms: durationMs };
const withoutDatabase = Compile(
  Type.Object({ has_database: Type.Literal(false), silent_ms: Type.Number({ minimum: 0 }), ...linkWord }),
);
const withDatabase = Compile(
  Type.Object({
    ...linkWord,
    has_database: Type.Literal(true),
    had_lapsed: Type.Boolean(),
    now_ms: count,
    revision: count,
    login_seq: count,
    nodes: Type.Array(
      Type.Object({
        id: Type.String({ minLength: 1, maxLength: 64 }),
        status: Type.Enum(['ready', 'draining']),
        started_at_ms: count,
        last_seen_at_ms: count,
        lease_ends_at_ms: count,
        doc: Type.Record(Type.String(), Type.Unknown()),
      }),
      { maxItems: 1_000 },
    ),
  }),
);

/** Serves renewals to other nodes, and asks them for renewals. */
export function linkRenewals(membership: NodeMembership, links: NodeLinks): RenewalPeers {
  links.serve(RENEW, async (_message, fromNodeId) => messageOf(await membership.renewFor(fromNodeId)));
  links.serve(FAREWELL, async (_message, fromNodeId) => {
    membership.heardFarewell(fromNodeId);
    return {};
  });
  const linked = (): string[] => [...links.all()].map(({ nodeId }) => nodeId);
  return {
    linked,
    linkTo: (nodeId) => {
      const link = links.get(nodeId);
      if (link === undefined) return { linkedMs: 0, keepsMs: 0 };
      const nowMs = performance.now();
      const keepsMs = Math.max(0, link.heardAtMs + PEER_SILENT_MS - KEPT_MARGIN_MS - nowMs);
      return { linkedMs: nowMs - link.upAtMs, keepsMs };
    },
    isLinked: (nodeId) => {
      const link = links.get(nodeId);
      return link !== undefined && performance.now() - link.heardAtMs < PEER_SILENT_MS;
    },
    renewThrough: async (nodeId) => renewalOf(await links.call(nodeId, RENEW, { v: 1 }, RENEW_TIMEOUT_MS)),
    sayFarewell: async () => {
      const calls = linked().map((nodeId) => links.call(nodeId, FAREWELL, { v: 1 }, FAREWELL_TIMEOUT_MS));
      await Promise.allSettled(calls);
    },
  };
}

function messageOf({ heartbeat, word }: PeerRenewal): PeerMessage {
  const link = { linked_ms: word.linkedMs, keeps_ms: word.keepsMs };
  if (heartbeat === null) return { has_database: false, silent_ms: Math.min(word.silentMs, 1e9), ...link };
  const { nowMs, hadExpired, nodes, position } = heartbeat;
  let bytes = 0;
  const sent = nodes
    .map((node) => ({
      id: node.id,
      status: node.status,
      started_at_ms: node.startedAtMs,
      last_seen_at_ms: node.lastSeenAtMs,
      lease_ends_at_ms: node.leaseEndsAtMs,
      doc: node.doc,
    }))
    .filter((node) => {
      bytes += Buffer.byteLength(JSON.stringify(node));
      return bytes <= MAX_NODES_BYTES;
    });
  const at = { revision: position.revision, login_seq: position.loginSeq };
  return { has_database: true, had_lapsed: hadExpired, now_ms: nowMs, nodes: sent, ...at, ...link };
}

function renewalOf(message: PeerMessage): PeerRenewal {
  if (withoutDatabase.Check(message)) {
    const { silent_ms: silentMs, linked_ms: linkedMs, keeps_ms: keepsMs } = message;
    return { heartbeat: null, word: { silentMs, linkedMs, keepsMs } };
  }
  if (!withDatabase.Check(message)) throw new Error('a peer answered a renewal with a malformed message');
  const nodes = message.nodes.map(
    (node): StoredNode => ({
      id: node.id,
      status: node.status,
      startedAtMs: node.started_at_ms,
      lastSeenAtMs: node.last_seen_at_ms,
      leaseEndsAtMs: node.lease_ends_at_ms,
      doc: node.doc as StoredNode['doc'],
    }),
  );
  const { now_ms: nowMs, had_lapsed: hadExpired, linked_ms: linkedMs, keeps_ms: keepsMs } = message;
  const position = { revision: message.revision, loginSeq: message.login_seq };
  return { heartbeat: { nowMs, hadExpired, nodes, position }, word: { silentMs: 0, linkedMs, keepsMs } };
}
