import type { Catalog } from '../../../control/documents/catalog.ts';
import type { LatePart } from '../../../kit/late-part.ts';
import { SharedTally } from '../../../kit/process/shared-memory.ts';
import type { Module } from '../../../modules/contract/module.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import { releaseNodeMemories } from '../data-plane/module-runtimes.ts';
import type { EdgeDependencies } from '../edge.ts';
import type { EdgeWorkers } from './edge-workers.ts';
import { newClockOffset, newSharedStatus, publishOffset, SharedStatus } from './shared-status.ts';
import type { WorkerStart } from './worker-protocol.ts';

export interface WorkersDependencies extends EdgeDependencies {
  readonly replica: Replica;
  readonly catalog: Catalog;
  readonly node: string;
  readonly secretKeyId: () => string;
  /** How long the right to serve names of agents certainly lasts. */
  readonly rightLeftMs: () => number;
  /** Lines of workers. */
  readonly writeLog: (text: string) => void;
}

const PUBLISH_EVERY_MS = 50;

/** Memory that all workers share: its part of what a worker knows when it starts. */
export type WorkersMemory = Pick<WorkerStart, 'tallies' | 'tunnelStreams' | 'connections' | 'nodeMemories'>;

export function newWorkersMemory(
  { nodeMemories }: Pick<EdgeDependencies, 'nodeMemories'>,
  count: number,
): WorkersMemory {
  return {
    tallies: {
      requests: SharedTally.memory(count),
      streams: SharedTally.memory(count),
      connections: SharedTally.memory(count),
      handshakes: SharedTally.memory(count),
      plainConnections: SharedTally.memory(count),
    },
    tunnelStreams: SharedTally.memory(count),
    connections: new SharedArrayBuffer(2 * count * Int32Array.BYTES_PER_ELEMENT),
    nodeMemories,
  };
}

/** What a worker that has ended held is free. */
export function releaseWorkersMemory(
  { tallies, tunnelStreams, nodeMemories }: WorkersMemory,
  modules: readonly Module[],
  index: number,
): void {
  for (const tally of [...Object.values(tallies), tunnelStreams]) SharedTally.clear(tally, index);
  releaseNodeMemories(modules, nodeMemories, index);
}

/** What workers read about the installation for each request, without asking. */
export interface PublishedStatus extends Pick<WorkerStart, 'sharedStatus' | 'clockOffset'> {
  /** Publishes what is known now, sooner than the timer. */
  publish(): void;
  close(): void;
}

export function publishStatus(deps: WorkersDependencies, workers: LatePart<EdgeWorkers>): PublishedStatus {
  const { clock, others, tunnels } = deps;
  const sharedStatus = newSharedStatus();
  const published = new SharedStatus(sharedStatus);
  const clockOffset = clock.sharedOffset ?? newClockOffset();
  let keyId = deps.secretKeyId();
  const publish = (): void => {
    if (keyId !== deps.secretKeyId()) {
      keyId = deps.secretKeyId();
      // Workers that start later start with the new key.
      workers.ifOpen?.tell('useSecretKey', keyId);
    }
    if (clock.sharedOffset === undefined) publishOffset(clock, clockOffset);
    published.publish({
      rightLeftMs: deps.rightLeftMs(),
      isCurrent: others.isCurrent,
      isUnsettled: tunnels.isUnsettled === true,
    });
  };
  publish();
  const publishing = setInterval(publish, PUBLISH_EVERY_MS).unref();
  return { sharedStatus, clockOffset, publish, close: () => clearInterval(publishing) };
}
