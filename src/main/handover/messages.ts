import type { CommitMark } from '../../store/store.ts';

/** What the process that hands over and the one that takes over send each other, on the channel between them. */

/** The process that takes over refuses an offer of another protocol: the old process then goes on. */
export const HANDOVER_PROTOCOL = 1;
/** Marks a process that was started to take over. */
export const HANDOVER_VARIABLE = 'POSTERN_HANDOVER';

export interface OfferedSocket {
  readonly name: string;
  readonly fd: number;
  readonly wanted: string;
  readonly address: { readonly host: string; readonly port: number };
}

/** The store of the process that hands over. */
export interface OfferedStore {
  readonly data_dir: string;
  /** Made for this handover: the store contains it, and no other one does. */
  readonly commit: CommitMark;
}

export type OldToNew =
  | {
      readonly t: 'offer';
      readonly protocol: number;
      readonly version: string;
      readonly sockets: readonly OfferedSocket[];
      readonly store: OfferedStore;
    }
  /** Accept agents. The old process accepts none from now on. */
  | { readonly t: 'accept_agents' }
  /** The agents with these tunnels were asked to connect again: report when they have. */
  | { readonly t: 'await_agents'; readonly tunnels: readonly string[] }
  /** Accept everything else. */
  | { readonly t: 'serve' }
  /** The old process delivers no more events. */
  | { readonly t: 'delivery_ended' };

export type NewToOld =
  /** Everything is loaded; it accepts nothing yet. */
  | { readonly t: 'prepared'; readonly version: string }
  | { readonly t: 'accepting_agents' }
  | { readonly t: 'agents_here'; readonly missing: number }
  | { readonly t: 'serving' }
  | { readonly t: 'failed'; readonly message: string };

export type HandoverMessage = OldToNew | NewToOld;
