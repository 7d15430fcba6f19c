/** A test's context, or whatever else runs tasks when a test is over. */
export interface Cleanup {
  after(task: () => Promise<void>): void;
}
