/** `postern … | head` closes the pipe early, which is not a failure. */
export function ignoreClosedPipe(): void {
  if (!process.stdout.listeners('error').includes(onError)) process.stdout.on('error', onError);
}

function onError(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
}
