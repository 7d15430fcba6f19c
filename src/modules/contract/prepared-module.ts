import type { ChangesRequests } from './changes-requests.ts';
import type { ChangesResponses } from './changes-responses.ts';
import type { Decides } from './decides.ts';
import type { LearnsOutcomes } from './learns-outcomes.ts';
import type { RecognizesRequesters } from './recognizes-requesters.ts';
import type { RequiresTls } from './requires-tls.ts';
import type { SelectsBackend } from './selects-backend.ts';
import type { ServesPaths } from './serves-paths.ts';

/**
 * A module prepared for traffic: the hooks of the capabilities that it has. Each hook is optional, and absent hooks cost
 * nothing. One per route, version of the configuration and thread; it is dropped when the configuration changes.
 */
export interface PreparedModule
  extends Decides,
    ChangesRequests,
    ChangesResponses,
    LearnsOutcomes,
    ServesPaths,
    RecognizesRequesters,
    SelectsBackend,
    RequiresTls {}
