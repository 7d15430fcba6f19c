import { Dialog } from '../dialog.tsx';
import { Diff } from '../diff.tsx';
import { Notice } from '../notice.tsx';

interface ConflictViewProps {
  readonly title: string;
  readonly original: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
  readonly onMine: () => void;
  readonly onTheirs: () => void;
  readonly onClose: () => void;
}

export function ConflictView({ title, original, mine, theirs, onMine, onTheirs, onClose }: ConflictViewProps) {
  return (
    <Dialog
      title={title}
      isWide
      onClose={onClose}
      foot={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" onClick={onTheirs}>
            Take their version
          </button>
          <button type="button" class="primary" onClick={onMine}>
            Apply my changes to it
          </button>
        </>
      }
    >
      <Notice tone="warn">
        Somebody saved another version while you were editing. Nothing of yours was saved yet.
      </Notice>
      <h3>What they changed</h3>
      <Diff label="Their changes" before={original} after={theirs} />
      <h3>What you changed</h3>
      <Diff label="Your changes" before={original} after={mine} />
    </Dialog>
  );
}
