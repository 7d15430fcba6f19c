/** Whether names of agents may be served now. Read per request. */
export interface RightToServe {
  mayServe(): boolean;
}

/** For a server that shares its names with no other. */
export const ALWAYS: RightToServe = { mayServe: () => true };
