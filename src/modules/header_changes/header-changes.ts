import type { SharedPorts, SharedRuntime, SharedState } from '../contract/keeps-state.ts';

/** Counts the values that could not be sent. It is also the runtime of both modules. */
export interface HeaderChangesState extends SharedState {
  /** By the name of the module. */
  readonly leftOut: (module: string) => void;
}

/** What the modules that change headers share. */
export const headerChanges: SharedRuntime<HeaderChangesState> = {
  name: 'header_changes',
  open: async (ports: SharedPorts) => ({
    leftOut: ports.counter({
      name: 'postern_header_values_left_out_total',
      help: 'Headers that a module did not add, because their value could not be sent.',
      label: 'module',
    }),
    close: async () => {},
  }),
};
