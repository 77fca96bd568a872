// Rounds of different subjects are interleaved, so that a slow minute of the machine hits all of them alike.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Apart } from './apart.js';
import { type Context, roundsOf } from './question.js';

/** One subject under one condition. */
export interface Seat<Order> {
  subject: string;
  at: string;
  x?: number;
  /** What it is prepared with; a directory of its own is added. */
  start: object;
  order: Order;
}

export interface Played<Order, Figures> {
  seat: Seat<Order>;
  rounds: Figures[];
}

export interface Outcome<Order, Figures> {
  played: Played<Order, Figures>[];
  failures: string[];
}

interface Taken<Order, Figures> {
  played: Played<Order, Figures>;
  apart: Apart<Order, Figures>;
  directory: string;
}

/** Prepares all seats with `name` of the module, plays the rounds in turn, and ends all. Who fails is out, with a word. */
export async function inRounds<Order, Figures>(
  module: string,
  name: string,
  seats: readonly Seat<Order>[],
  context: Context,
  rounds = roundsOf(context),
): Promise<Outcome<Order, Figures>> {
  const total = seats.length * (rounds + 1);
  const failures: string[] = [];
  let taken: Taken<Order, Figures>[] = [];
  let done = 0;
  const attempt = async ({ subject, at }: Seat<Order>, work: () => Promise<void>) => {
    context.onProgress(done++, total, `${subject} ${at}`);
    try {
      await work();
      return true;
    } catch (error) {
      failures.push(`${subject} ${at}: ${(error as Error).message}`);
      return false;
    }
  };
  try {
    for (const seat of seats) {
      await attempt(seat, async () => {
        const directory = newDirectory(context.scratch);
        const apart = await Apart.begin<Order, Figures>(module, name, { directory, ...seat.start });
        taken.push({ played: { seat, rounds: [] }, apart, directory });
      });
    }
    for (let round = 0; round < rounds; round++) {
      for (const one of [...taken]) {
        const { apart, played } = one;
        const isWell = await attempt(played.seat, async () => {
          played.rounds.push(await apart.round(played.seat.order));
        });
        if (!isWell) taken = await without(taken, one);
      }
    }
    const played = taken.map((one) => one.played);
    for (const one of [...taken]) {
      await one.apart.end();
      taken = taken.filter((other) => other !== one);
      rmSync(one.directory, { recursive: true });
    }
    return { played, failures };
  } finally {
    for (const { apart } of taken) await apart.kill();
  }
}

async function without<Order, Figures>(taken: Taken<Order, Figures>[], one: Taken<Order, Figures>) {
  await one.apart.kill();
  return taken.filter((other) => other !== one);
}

export function newDirectory(scratch: string): string {
  mkdirSync(scratch, { recursive: true });
  return mkdtempSync(join(scratch, 'subject-'));
}
