-- Events, effects, timers and checkpoints, one table each, with the indexes that their readers need.
CREATE TABLE events (
  id uuid PRIMARY KEY,
  session_key text NOT NULL,
  seq integer NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (session_key, seq)
);

CREATE TABLE effects (
  id uuid PRIMARY KEY,
  session_key text NOT NULL,
  checkpoint_id text NOT NULL,
  type text NOT NULL,
  payload jsonb NOT NULL,
  dedupe_key text NOT NULL UNIQUE,
  status text NOT NULL DEFAULT 'pending',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  attempt_count integer NOT NULL DEFAULT 0,
  last_attempt_at timestamptz
);
CREATE INDEX ON effects (status, created_at) WHERE status = 'pending';
CREATE INDEX ON effects (session_key);

CREATE TABLE autonomy_timers (
  id uuid PRIMARY KEY,
  session_key text NOT NULL,
  timer_id text NOT NULL,
  fire_at timestamptz NOT NULL,
  payload jsonb,
  status text NOT NULL DEFAULT 'pending',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (session_key, timer_id)
);
CREATE INDEX ON autonomy_timers (fire_at) WHERE status = 'pending';

-- A thread's checkpoints sort by id: the padded number of the event that each follows.
CREATE TABLE checkpoints (
  thread_id text NOT NULL,
  checkpoint_id text NOT NULL,
  checkpoint jsonb NOT NULL,
  metadata jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (thread_id, checkpoint_id)
);
