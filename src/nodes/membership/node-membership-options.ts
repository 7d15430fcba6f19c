import type { FeedPosition, NodeStore } from '../../store/node-store.ts';
import type { NodeFacts } from '../node.ts';
import type { AgreedFacts } from './agreement.ts';
import type { NodeCounts } from './node-document.ts';

export interface NodeMembershipOptions {
  readonly store: NodeStore;
  readonly facts: NodeFacts;
  readonly agreed: AgreedFacts;
  /** Called with what the nodes have in common, each time they have compared it. */
  readonly onAgreed?: (values: Readonly<Record<string, string>>) => void;
  readonly counts: () => NodeCounts;
  readonly log: MembershipLog;
  /** A clock that no one sets. */
  readonly monotonicMs?: () => number;
}

/** `from`: the linked node that read it; null: this one did, from the database. */
export type PositionListener = (position: FeedPosition, sentAtMs: number, from: string | null) => void;

type MembershipLog = Readonly<Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>>;
