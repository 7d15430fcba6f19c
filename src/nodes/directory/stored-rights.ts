import type { NodeStore } from '../../store/node-store.ts';
import type { AnnouncedSession } from './announced.ts';

/** Decides between nodes that contradict each other. Methods reject when the store cannot be asked. */
export interface Rights {
  /** Whether the store has the session with this home and epoch. */
  isRight(session: AnnouncedSession): Promise<boolean>;
  /** Id of the session that has the name or port; null: none. */
  nameOwner(key: string): Promise<string | null>;
}

export function storedRights(nodes: Pick<NodeStore, 'getSession' | 'getClaim'>): Rights {
  return {
    isRight: async ({ id, homeNodeId, epoch }) => {
      const stored = await nodes.getSession(id);
      return stored !== null && stored.nodeId === homeNodeId && stored.epoch === epoch;
    },
    nameOwner: async (key) => (await nodes.getClaim(claimKeyOf(key)))?.sessionId ?? null,
  };
}

/** A host has one owner on both listeners. */
function claimKeyOf(key: string): string {
  return key.replace(/^(?:tls|plain) /, 'name ');
}
