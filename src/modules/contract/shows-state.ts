import type { TObject, TProperties } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { PreparePorts } from './prepare.ts';

/** What a module declares that shows state of its own to operators. */
export interface DeclaresShownState {
  /**
   * Fields that responses about the module itself add, read from `nodeMemory` of the node that responds. They are not
   * part of the configuration: nothing stores them, and a client may send them back.
   */
  readonly live?: {
    readonly schema: TProperties;
    read(config: JsonObject, place: PreparePorts['place'], ports: LivePorts): JsonObject;
  };
  /** Events that it reports: see `StatePorts.event`. */
  readonly events?: readonly ModuleEvent[];
}

export interface LivePorts {
  /** Null where nothing is served. */
  readonly memory: SharedArrayBuffer | null;
  readonly nowMs: number;
}

export interface ModuleEvent {
  readonly type: string;
  readonly description: string;
  /** Its object, without the node's name. */
  readonly object: TObject;
}
