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

/** The same for what a follower does before it is notified. */
export async function prepareFollowers<Changes>(
  followers: Iterable<{ readonly prepare?: (changes: Changes) => Promise<void> }>,
  changes: Changes,
): Promise<void> {
  for (const { prepare } of followers) {
    await prepare?.(changes).catch((error: unknown) =>
      queueMicrotask(() => {
        throw error;
      }),
    );
  }
}
