import { access, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { standardOutput } from '../../../kit/logging/standard-output.ts';
import { readBounded } from '../../../kit/read-bounded.ts';
import { startAgent } from '../../../tunnel/agent/index.ts';
import { startInspector } from '../../../tunnel/agent/inspector/index.ts';
import type { AgentPorts, ProcessPort, Terminal } from '../../cli/agent/agent-ports.ts';
import { programVersion } from '../version.ts';

/** A file of an agent, a certificate or a key is smaller. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function agentPorts(): AgentPorts {
  return {
    version: programVersion(),
    startAgent,
    startInspector,
    files: {
      home: homedir(),
      read: async (path) => (await readBounded(path, MAX_FILE_BYTES)).toString(),
      exists: (path) =>
        access(path).then(
          () => true,
          () => false,
        ),
      list: (path) => readdir(path).catch(() => []),
    },
    terminal,
    process: processPort,
    nowMs: Date.now,
  };
}

const terminal: Terminal = {
  write: (text) => {
    standardOutput().write(text);
  },
  size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  onResize: (listener) => {
    process.stdout.on('resize', listener);
    return () => process.stdout.off('resize', listener);
  },
};

const processPort: ProcessPort = {
  onStopSignal: (listener) => {
    for (const signal of STOP_SIGNALS) process.on(signal, listener);
    return () => {
      for (const signal of STOP_SIGNALS) process.off(signal, listener);
    };
  },
  onSuspend: (suspend, resume) => {
    const onStop = (): void => {
      suspend();
      // The signal's default action, now that the terminal is restored.
      process.kill(process.pid, 'SIGSTOP');
    };
    process.on('SIGTSTP', onStop);
    process.on('SIGCONT', resume);
    return () => {
      process.off('SIGTSTP', onStop);
      process.off('SIGCONT', resume);
    };
  },
  onExit: (listener) => {
    process.on('exit', listener);
    return () => process.off('exit', listener);
  },
  onFailure: (listener) => {
    process.on('uncaughtException', listener);
    return () => process.off('uncaughtException', listener);
  },
  exit: (code) => process.exit(code),
};
