import type { NodeMemory } from '../../modules/contract/keeps-state.ts';
import type { Module } from '../../modules/contract/module.ts';
import { type ModuleSettings, settingsOf } from '../../modules/module-settings.ts';

/** Memory of modules that all threads of the node share, by the name of the module. */
export type NodeMemories = ReadonlyMap<string, SharedArrayBuffer>;

/** The number of the thread that is no worker. */
export const MAIN_THREAD = -1;

/** Once per process. */
export function createNodeMemories(modules: readonly Module[], settings: ModuleSettings): NodeMemories {
  return new Map(
    modules.flatMap((module): [string, SharedArrayBuffer][] =>
      module.nodeMemory === undefined ? [] : [[module.name, module.nodeMemory.create(settingsOf(settings, module))]],
    ),
  );
}

/** A worker has ended. */
export function releaseNodeMemories(modules: readonly Module[], memories: NodeMemories, thread: number): void {
  for (const { name, nodeMemory } of modules) {
    const memory = memories.get(name);
    if (memory !== undefined) nodeMemory?.threadEnded?.(memory, thread);
  }
}

export function nodeMemoryOf({ name }: Pick<Module, 'name'>, memories: NodeMemories, thread: number): NodeMemory {
  const memory = memories.get(name);
  if (memory === undefined) throw new Error(`the ${name} module does not declare that it has memory of the node`);
  return { memory, thread };
}
