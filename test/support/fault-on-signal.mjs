// Loaded into a server process with --import: SIGUSR2 raises the fault named by FAULT, from a place that no connection
// owns.
const faults = {
  exception: () => {
    throw new Error('injected exception');
  },
  rejection: () => void Promise.reject(new Error('injected rejection')),
};

process.on('SIGUSR2', () => setImmediate(() => faults[process.env.FAULT]()));
