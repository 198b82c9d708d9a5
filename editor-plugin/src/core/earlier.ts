import type { PlaceTracker } from './place_tracker.js';

/** A running completion: its place, and what it may itself go on with. */
export interface RunningCompletion {
  readonly request: number;
  readonly place: PlaceTracker;
  readonly earlier: Earlier | undefined;
}

/**
 * Remembers what a completion needs to go on with another one, until the server says with which.
 *
 * One of those may itself be waiting to hear which one it goes on with, and will then have the place of that. So what
 * was typed is remembered for all the places that any of them has or may get.
 */
export class Earlier {
  private readonly places = new Map<number, PlaceTracker>();
  private readonly typed = new Map<object, string>(); // by origin: of one, all have the same typed

  constructor(running: Iterable<RunningCompletion>, cursor: number) {
    const candidates = new Set<PlaceTracker>();
    for (const { request, place, earlier } of running) {
      this.places.set(request, place);
      candidates.add(place);
      for (const other of earlier?.places.values() ?? []) {
        candidates.add(other);
      }
    }
    for (const place of candidates) {
      const typed = place.at(cursor);
      if (typed !== undefined) {
        this.typed.set(place.origin, typed.text);
      }
    }
  }

  /** Let a place go on from that of an earlier request. Returns whether it can. */
  handOver(request: number, place: PlaceTracker): boolean {
    const before = this.places.get(request);
    const typed = before === undefined ? undefined : this.typed.get(before.origin);
    if (before === undefined || typed === undefined) {
      return false;
    }
    place.goOnFrom(before, typed);
    return true;
  }
}
