# Sidekiq: jobs that are done, that fail and are tried again, and that come later.
require "sidekiq"
require "sidekiq/api"

url = ENV["REDIS_URL"]
Sidekiq.configure_client { |c| c.redis = {url: url} }
Sidekiq.configure_server do |c|
  c.redis = {url: url}
  c.options[:poll_interval_average] = 1 if c.respond_to?(:options)
  c.options[:average_scheduled_poll_interval] = 1 if c.respond_to?(:options)
end

class Add
  include Sidekiq::Worker
  def perform(a, b) = Sidekiq.redis { |r| r.incrby("sum", a + b) }
end

class Flaky
  include Sidekiq::Worker
  sidekiq_options retry: 5
  sidekiq_retry_in { 0 }
  def perform
    raise "not yet" if Sidekiq.redis { |r| r.incr("tries") } < 3
    Sidekiq.redis { |r| r.set("flaky", "at last") }
  end
end

class Fail
  include Sidekiq::Worker
  sidekiq_options retry: 0, dead: true
  def perform = raise("always")
end

unless Sidekiq.server?
  $stdout.sync = true
  def say(what, *values) = puts("#{what}: #{values.inspect}")
  def wait_for
    limit = Time.now + 100
    sleep 0.05 until yield || Time.now > limit
  end

  def value(key) = Sidekiq.redis { |r| r.get(key) }

  def worker
    spawn("sidekiq", "-q", "default", "-c", "4", "-t", "1", "-r", File.expand_path(__FILE__), out: File::NULL, err: File::NULL)
  end

  Sidekiq.redis { |r| r.flushall }
  100.times { |i| Add.perform_async(i, 1) }
  Sidekiq::Client.push_bulk("class" => Add, "args" => (1..50).map { |i| [i, 0] })
  say "queued", Sidekiq::Queue.new.size, Sidekiq::Stats.new.enqueued
  Flaky.perform_async
  Fail.perform_async
  Add.perform_in(1, 1000, 0)
  say "scheduled", Sidekiq::ScheduledSet.new.size
  pid = worker
  wait_for { value("sum") == "7325" && value("flaky") && Sidekiq::DeadSet.new.size == 1 }
  say "sum", value("sum"), value("flaky"), value("tries")
  say "dead", Sidekiq::DeadSet.new.map { |j| [j.klass, j["error_message"]] }
  say "stats", Sidekiq::Stats.new.processed, Sidekiq::Stats.new.failed, Sidekiq::RetrySet.new.size
  Process.kill("TERM", pid)
  Process.wait(pid)
  say "ended", $?.exitstatus, Sidekiq::Queue.new.size
end
