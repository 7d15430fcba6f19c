import type { LaneLedger, StoredRecord } from '../../store/store.ts';

/** Times and shares from which something counts as wrong; 0 turns a kind off. */
export interface AlertLimits {
  readonly agentAwayMs: number;
  readonly backendFailingMs: number;
  readonly certificateDays: number;
  readonly deliveryStuckMs: number;
  readonly descriptorPercent: number;
  readonly diskPercent: number;
  readonly nodeLostMs: number;
  /** Milliseconds after which states that modules have watched are alerts, by the code. */
  readonly ofModules: ReadonlyMap<string, number>;
}

export interface SeenAgent {
  readonly credentialId: string;
  readonly metadata: string;
}

export interface SeenNode {
  readonly name: string;
  readonly status: 'ready' | 'draining' | 'lost';
  readonly lastSeenAtMs: number;
}

export interface SeenDescriptors {
  readonly open: number;
  readonly limit: number;
  /** Connections are refused. */
  readonly isScarce: boolean;
}

/** Requests to a backend since they were last counted. */
export interface BackendTraffic {
  readonly backendId: string;
  readonly failed: number;
  readonly succeeded: number;
}

/** What is already known, for one look at it. */
export interface AlertFacts {
  readonly nowMs: number;
  readonly limits: AlertLimits;
  /** This node's name. */
  readonly node: string;
  records(kind: string): Iterable<StoredRecord>;
  record(kind: string, id: string): StoredRecord | undefined;
  /** A configuration resource of whatever kind. */
  resource(id: string): StoredRecord | undefined;
  nodes(): readonly SeenNode[];
  agents(): Promise<readonly SeenAgent[]>;
  /** Agents that have said in the last minute that they end. */
  farewells(): Promise<readonly SeenAgent[]>;
  lanes(): Promise<readonly LaneLedger[]>;
  /** File descriptors of this process. The limit is infinite if it is not known. */
  descriptors(): SeenDescriptors;
  /** Used share of the data directory's disk, in percent. */
  diskPercent(): Promise<number>;
  backendTraffic(): readonly BackendTraffic[];
  /** Ids of the routes that are in a watched state on this node, by the code of its alert. */
  routesIn(code: string): readonly string[];
  /** Subjects that this kind has raised an alert about: what is remembered of the time before a restart. */
  readonly raised: ReadonlySet<string>;
}

/** What one look found out about a subject. `unknown`: it stays as it is. A subject that is not named is well. */
export interface Sighting {
  /** Identifies what the alert is about, inside the kind. */
  readonly subject: string;
  readonly state: 'bad' | 'well' | 'unknown';
  /** One line for people: what is wrong with what. */
  readonly title: string;
}

/**
 * A kind of finding that is watched: it is an alert from when it has been bad for a while until it has been well for a
 * while.
 */
export interface AlertKind {
  /** The code of the finding, and the `kind` of its alerts. */
  readonly code: string;
  /** What to do, for the operator. */
  readonly advice: string;
  /** `installation`: every node sees the same, and one of them looks. `node`: each node looks for itself. */
  readonly sight: 'installation' | 'node';
  /** How long it must be bad before an alert is raised, and well before it is resolved: so alerts do not flap. */
  raiseAfterMs(limits: AlertLimits): number;
  readonly resolveAfterMs: number;
  isOn(limits: AlertLimits): boolean;
  /** Each process has one of its own, which may remember what it saw. */
  createLook(): (facts: AlertFacts) => Promise<readonly Sighting[]> | readonly Sighting[];
}
