import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ClusterNode } from '../../test/support/cluster/cluster-node.ts';
import { rssMiB } from '../support/process-cost.ts';

/** For nodes whose memory is measured. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

export interface CollectedMemory {
  readonly heapMiB: number;
  readonly rssMiB: number;
}

/** Memory of a node right after its garbage was collected: otherwise it depends on when the runtime last did so. */
export async function collectedMemory(node: ClusterNode): Promise<CollectedMemory> {
  const url = /ws:\/\/\S+/.exec(node.process.stderr())?.[0];
  if (url === undefined) throw new Error(`${node.name} was started without an inspector`);
  const socket = new WebSocket(url);
  await once(socket, 'open');
  try {
    for (let time = 0; time < 2; time += 1) await ask(socket, 'HeapProfiler.collectGarbage');
    const { usedSize } = await ask(socket, 'Runtime.getHeapUsage');
    return { heapMiB: Number(usedSize) / 2 ** 20, rssMiB: rssMiB(node.pid) };
  } finally {
    socket.close();
  }
}

async function ask(socket: WebSocket, method: string): Promise<Readonly<Record<string, unknown>>> {
  socket.send(JSON.stringify({ id: 1, method }));
  for (;;) {
    const [data] = (await once(socket, 'message')) as [Buffer];
    const answer: { readonly id?: number; readonly result?: Readonly<Record<string, unknown>> } = JSON.parse(
      String(data),
    );
    if (answer.id === 1) return answer.result ?? {};
  }
}
