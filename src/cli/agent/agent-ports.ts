import type { AgentHandle } from '../../agent/handle.ts';
import type { Inspector, InspectorOptions } from '../../agent/inspector/index.ts';
import type { AgentOptions } from '../../agent/options.ts';

/** What the commands of the agent need of the world. */
export interface AgentPorts {
  readonly version: string;
  /** Throws AgentError when an option is wrong; everything else is told by events. */
  startAgent(options: AgentOptions): AgentHandle;
  /** Throws AgentError when it cannot listen. */
  startInspector(options: InspectorOptions): Promise<Pick<Inspector, 'observe' | 'url' | 'isOtherPort' | 'close'>>;
  readonly files: {
    readonly home: string;
    read(path: string): Promise<string>;
    exists(path: string): Promise<boolean>;
    /** Names in a directory; none when it cannot be read. */
    list(path: string): Promise<readonly string[]>;
  };
  readonly terminal: Terminal;
  readonly process: ProcessPort;
  /** Milliseconds since 1970. */
  nowMs(): number;
}

export interface Terminal {
  write(text: string): void;
  size(): { readonly columns: number; readonly rows: number };
  onResize(listener: () => void): () => void;
}

export interface ProcessPort {
  /** SIGINT, SIGTERM and SIGHUP. */
  onStopSignal(listener: () => void): () => void;
  /** `suspend` before the process is stopped by Ctrl-Z, `resume` when it goes on. */
  onSuspend(suspend: () => void, resume: () => void): () => void;
  /** The process ends, in whatever way. */
  onExit(listener: () => void): () => void;
  /** An exception or a rejection that no connection owns. */
  onFailure(listener: (error: unknown) => void): () => void;
  /** Ends the process; whatever still holds it. */
  exit(code: number): void;
}
