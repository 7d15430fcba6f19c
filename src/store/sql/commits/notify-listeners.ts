/**
 * The change is durable whatever a listener does: its exception is reported as a bug and does not reject the commit's
 * promise.
 */
export function notifyListeners<Changes>(listeners: ReadonlySet<(changes: Changes) => void>, changes: Changes): void {
  for (const listener of listeners) {
    try {
      listener(changes);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
