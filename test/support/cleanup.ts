/** A test's context, or anything else that runs tasks after a test. */
export interface Cleanup {
  after(task: () => Promise<void>): void;
}
